//! Merges layers of toolkits without I/O; the first layer that names a toolkit wins.

use std::collections::{HashMap, hash_map};

use super::{SelectedToolkit, ToolkitOrigin};
use crate::spec::{RequestedToolkits, ToolkitDocumentEntry, ToolkitName};

/// Toolkits of one layer.
#[derive(Debug, Clone)]
pub(super) struct LayerSection {
    pub(super) origin: ToolkitOrigin,
    /// Display name of the layer.
    pub(super) place: String,
    pub(super) toolkits: Vec<(ToolkitName, ToolkitDocumentEntry)>,
}

pub(super) struct MergedLayers {
    pub(super) toolkits: Vec<SelectedToolkit>,
    pub(super) warnings: Vec<String>,
    /// Toolkits that their configuration switches off.
    pub(super) off: Vec<SelectedToolkit>,
}

/// Decision of the first section that contains a name.
enum LayerDecision {
    Is(Box<SelectedToolkit>),
    /// Switched off, with the reason as a sentence.
    Off(String),
    Broken(String),
}

/// Merges the toolkits of a request with the sections, in order of priority.
pub(super) fn merge_layers(
    requested: Option<&RequestedToolkits>,
    sections: &[LayerSection],
    max: usize,
) -> MergedLayers {
    let mut said: HashMap<&ToolkitName, LayerDecision> = HashMap::new();
    let mut order: Vec<&ToolkitName> = Vec::new();
    let mut warnings = Vec::new();
    for (name, spec) in requested.into_iter().flat_map(|requested| &requested.specs) {
        if let hash_map::Entry::Vacant(place) = said.entry(name) {
            let chosen = SelectedToolkit {
                name: name.clone(),
                spec: spec.clone(),
                origin: ToolkitOrigin::Request,
            };
            place.insert(LayerDecision::Is(Box::new(chosen)));
            order.push(name);
        }
    }
    for section in sections {
        for (name, entry) in &section.toolkits {
            if let hash_map::Entry::Vacant(place) = said.entry(name) {
                place.insert(decide_entry(section, name, entry));
                order.push(name);
            }
        }
    }
    let names = requested.and_then(|requested| requested.names.as_deref());
    if let Some(names) = names {
        let unknown: Vec<_> = names.iter().filter(|name| !said.contains_key(name)).collect();
        if !unknown.is_empty() {
            let is_there =
                |name: &&&ToolkitName| matches!(said.get(**name), Some(LayerDecision::Is(_)));
            let there: Vec<_> = order.iter().filter(is_there).copied().collect();
            warnings.push(unknown_names(&unknown, &there));
        }
        order = names.iter().collect();
    }
    let off = sections.iter().flat_map(switched_off).collect();
    let mut toolkits = Vec::new();
    for name in order {
        match said.remove(name) {
            Some(LayerDecision::Is(chosen)) => toolkits.push(*chosen),
            // A toolkit that is switched off is reported only to a request that names it.
            Some(LayerDecision::Off(reason)) if names.is_some() => warnings.push(reason),
            Some(LayerDecision::Broken(reason)) => warnings.push(reason),
            Some(LayerDecision::Off(_)) | None => {}
        }
    }
    if toolkits.len() > max {
        let rest: Vec<_> = toolkits.drain(max..).map(|chosen| chosen.name).collect();
        warnings.push(format!(
            "a turn has at most {max} toolkits; left out: {}",
            join_names(&rest.iter().collect::<Vec<_>>())
        ));
    }
    MergedLayers { toolkits, warnings, off }
}

/// Returns the toolkits of a section that are switched off.
fn switched_off(section: &LayerSection) -> Vec<SelectedToolkit> {
    let entries = section.toolkits.iter().filter_map(|(name, entry)| match entry {
        ToolkitDocumentEntry::Is(spec) if !spec.enabled => Some(SelectedToolkit {
            name: name.clone(),
            spec: (**spec).clone(),
            origin: section.origin,
        }),
        ToolkitDocumentEntry::Is(_)
        | ToolkitDocumentEntry::Off
        | ToolkitDocumentEntry::Broken(_) => None,
    });
    entries.collect()
}

fn decide_entry(
    section: &LayerSection,
    name: &ToolkitName,
    entry: &ToolkitDocumentEntry,
) -> LayerDecision {
    let place = &section.place;
    let off = || LayerDecision::Off(format!("toolkit `{name}` is switched off in {place}"));
    match entry {
        ToolkitDocumentEntry::Is(spec) if spec.enabled => {
            LayerDecision::Is(Box::new(SelectedToolkit {
                name: name.clone(),
                spec: (**spec).clone(),
                origin: section.origin,
            }))
        }
        ToolkitDocumentEntry::Is(_) | ToolkitDocumentEntry::Off => off(),
        ToolkitDocumentEntry::Broken(faults) => {
            let reason = faults.join("; ");
            LayerDecision::Broken(format!("toolkit `{name}` of {place} is left out: {reason}"))
        }
    }
}

fn unknown_names(unknown: &[&ToolkitName], there: &[&ToolkitName]) -> String {
    let known = match there {
        [] => "there is none".to_owned(),
        there => format!("there are {}", join_names(there)),
    };
    format!("unknown toolkits were asked for: {}; {known}", join_names(unknown))
}

fn join_names(names: &[&ToolkitName]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
