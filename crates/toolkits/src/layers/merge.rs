//! Merges layers of toolkits, the first that names one winning. Pure.

use std::collections::{HashMap, hash_map};

use super::{Chosen, Origin};
use crate::spec::{Entry, Requested, ToolkitName};

/// The toolkits of one layer.
#[derive(Debug, Clone)]
pub(super) struct Section {
    pub(super) origin: Origin,
    /// What people call it.
    pub(super) place: String,
    pub(super) toolkits: Vec<(ToolkitName, Entry)>,
}

pub(super) struct Merged {
    pub(super) toolkits: Vec<Chosen>,
    pub(super) warnings: Vec<String>,
    /// Those that are switched off where they are configured.
    pub(super) off: Vec<Chosen>,
}

/// What the first section that has a name says of it.
enum Said {
    Is(Box<Chosen>),
    /// Off, or of no use, and why, in a sentence.
    Off(String),
    Broken(String),
}

/// Merges what a request says with sections, highest first.
pub(super) fn merge(requested: Option<&Requested>, sections: &[Section], max: usize) -> Merged {
    let mut said: HashMap<&ToolkitName, Said> = HashMap::new();
    let mut order: Vec<&ToolkitName> = Vec::new();
    let mut warnings = Vec::new();
    for (name, spec) in requested.into_iter().flat_map(|requested| &requested.specs) {
        if let hash_map::Entry::Vacant(place) = said.entry(name) {
            let chosen = Chosen { name: name.clone(), spec: spec.clone(), origin: Origin::Request };
            place.insert(Said::Is(Box::new(chosen)));
            order.push(name);
        }
    }
    for section in sections {
        for (name, entry) in &section.toolkits {
            if let hash_map::Entry::Vacant(place) = said.entry(name) {
                place.insert(of(section, name, entry));
                order.push(name);
            }
        }
    }
    let names = requested.and_then(|requested| requested.names.as_deref());
    if let Some(names) = names {
        let unknown: Vec<_> = names.iter().filter(|name| !said.contains_key(name)).collect();
        if !unknown.is_empty() {
            let is_there = |name: &&&ToolkitName| matches!(said.get(**name), Some(Said::Is(_)));
            let there: Vec<_> = order.iter().filter(is_there).copied().collect();
            warnings.push(unknown_names(&unknown, &there));
        }
        order = names.iter().collect();
    }
    let off = sections.iter().flat_map(switched_off).collect();
    let mut toolkits = Vec::new();
    for name in order {
        match said.remove(name) {
            Some(Said::Is(chosen)) => toolkits.push(*chosen),
            // What is switched off is news only to those who ask for it.
            Some(Said::Off(reason)) if names.is_some() => warnings.push(reason),
            Some(Said::Broken(reason)) => warnings.push(reason),
            Some(Said::Off(_)) | None => {}
        }
    }
    if toolkits.len() > max {
        let rest: Vec<_> = toolkits.drain(max..).map(|chosen| chosen.name).collect();
        warnings.push(format!(
            "a turn has at most {max} toolkits; left out: {}",
            list(&rest.iter().collect::<Vec<_>>())
        ));
    }
    Merged { toolkits, warnings, off }
}

/// Returns what a section has and does not use.
fn switched_off(section: &Section) -> Vec<Chosen> {
    let entries = section.toolkits.iter().filter_map(|(name, entry)| match entry {
        Entry::Is(spec) if !spec.enabled => {
            Some(Chosen { name: name.clone(), spec: (**spec).clone(), origin: section.origin })
        }
        Entry::Is(_) | Entry::Off | Entry::Broken(_) => None,
    });
    entries.collect()
}

fn of(section: &Section, name: &ToolkitName, entry: &Entry) -> Said {
    let place = &section.place;
    let off = || Said::Off(format!("toolkit `{name}` is switched off in {place}"));
    match entry {
        Entry::Is(spec) if spec.enabled => Said::Is(Box::new(Chosen {
            name: name.clone(),
            spec: (**spec).clone(),
            origin: section.origin,
        })),
        Entry::Is(_) | Entry::Off => off(),
        Entry::Broken(faults) => {
            let faults = faults.join("; ");
            Said::Broken(format!("toolkit `{name}` of {place} is left out: {faults}"))
        }
    }
}

fn unknown_names(unknown: &[&ToolkitName], there: &[&ToolkitName]) -> String {
    let known = match there {
        [] => "there is none".to_owned(),
        there => format!("there are {}", list(there)),
    };
    format!("unknown toolkits were asked for: {}; {known}", list(unknown))
}

fn list(names: &[&ToolkitName]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
