//! Finds members of values, through the types that a type inherits from.

use std::iter;

use super::{
    DefinitionId, ResolutionRule, SymbolGraph,
    value::{ExpressionValue, NameTarget, ScopeId, Targets, weaken},
};

/// Maximum types that a type inherits from.
const MAX_ANCESTORS: usize = 64;

/// Types that a type inherits from, nearest first.
#[derive(Debug, Clone, Default)]
pub(super) struct TypeAncestors {
    pub(super) types: Vec<DefinitionId>,
    /// True if some are defined elsewhere, so that a missing member may be theirs.
    is_open: bool,
}

impl SymbolGraph {
    /// Finds a member of a value.
    pub(super) fn find_member(&self, value: &ExpressionValue, name: &str) -> Targets {
        match value {
            ExpressionValue::Instance(id) | ExpressionValue::Type(id) => {
                self.find_type_member(*id, name)
            }
            ExpressionValue::Bases(id) => self.find_member_of(*id, self.list_ancestors(*id), name),
            ExpressionValue::Object(id) => match self.body_scope(*id) {
                Some(body) => self.find_bound(body, name),
                None => Vec::new(),
            },
            ExpressionValue::Members(scope) => self.find_bound(*scope, name),
            ExpressionValue::Module(module) => {
                let mut targets = self.find_exported(*module, name);
                weaken(&mut targets, ResolutionRule::ModuleMember);
                targets
            }
            ExpressionValue::Folder(folder) => self
                .modules
                .find_submodule(folder, name)
                .map(|module| (NameTarget::Module(module), ResolutionRule::ModuleMember))
                .into_iter()
                .collect(),
            ExpressionValue::External
            | ExpressionValue::Holder(_)
            | ExpressionValue::Mapping(_)
            | ExpressionValue::Signature(..)
            | ExpressionValue::Function(..) => {
                vec![(NameTarget::External, ResolutionRule::Scope)]
            }
        }
    }

    /// Finds a member of a type, or of those that it inherits from if it has none of that name.
    pub(super) fn find_type_member(&self, id: DefinitionId, name: &str) -> Targets {
        let mut holders = self.list_ancestors(id);
        holders.types.insert(0, id);
        self.find_member_of(id, holders, name)
    }

    /// Finds a member that `receiver` has from the first of several types with one.
    fn find_member_of(
        &self,
        receiver: DefinitionId,
        holders: TypeAncestors,
        name: &str,
    ) -> Targets {
        for holder in holders.types {
            let Some(body) = self.body_scope(holder) else { continue };
            let mut members = self.find_bound(body, name);
            members.retain(|(target, _)| matches!(target, NameTarget::Definition(..)));
            for (target, _) in &mut members {
                if let NameTarget::Definition(_, through) = target {
                    *through = Some(receiver);
                }
            }
            weaken(&mut members, ResolutionRule::Own);
            if !members.is_empty() {
                return members;
            }
        }
        if holders.is_open { vec![(NameTarget::External, ResolutionRule::Own)] } else { Vec::new() }
    }

    fn body_scope(&self, id: DefinitionId) -> Option<ScopeId> {
        let body = self.definition(id)?.body?;
        Some(ScopeId { file: id.file, index: body })
    }

    pub(super) fn list_ancestors(&self, id: DefinitionId) -> TypeAncestors {
        let ancestors = &self.memory.ancestors;
        self.memory.get_or_compute(ancestors, id, || self.collect_ancestors(id))
    }

    fn collect_ancestors(&self, id: DefinitionId) -> TypeAncestors {
        let mut ancestors = TypeAncestors::default();
        let Some(fact) = self.definition(id) else { return ancestors };
        let scope = ScopeId { file: id.file, index: fact.scope };
        for base in &fact.bases {
            let values = self.evaluate(scope, base);
            ancestors.is_open |= values.is_empty();
            for (value, _) in values {
                let ExpressionValue::Type(base) = value else {
                    ancestors.is_open = true;
                    continue;
                };
                let inherited = self.list_ancestors(base);
                ancestors.is_open |= inherited.is_open;
                for ancestor in iter::once(base).chain(inherited.types) {
                    let is_new = ancestor != id && !ancestors.types.contains(&ancestor);
                    if is_new && ancestors.types.len() < MAX_ANCESTORS {
                        ancestors.types.push(ancestor);
                    }
                }
            }
        }
        ancestors
    }
}
