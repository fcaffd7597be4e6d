//! Gathers the facts of a report: of the plugins, the upstream servers, the configuration and the audit.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use portcullis_audit::{CapabilityUse, CapabilityUses, DeletedRecords, PluginUse, Usage, verify};
use portcullis_core::bindings::Want;
use portcullis_core::capabilities::Capability;
use portcullis_core::gate::Policy;
use portcullis_core::lock::{self, ApprovalKey, LockFile};
use portcullis_core::plugins::inspect::{
    ImportUse, Inspection, cannot, granted_imports, import_use, is_of,
};
use portcullis_core::plugins::{
    LoadedPlugin, PluginTool, RejectedComponent, UnusedReason, Uses, compare, unused_grants,
};
use portcullis_core::sandbox::{Feature, Import, Origin, Plugin};
use portcullis_core::upstreams::Summary;
use portcullis_report::{
    Approval, AuditFacts, CapabilityFacts, CapabilityLimit, DeletedFacts, Facts, Hints,
    ImportFacts, PluginFacts, State, ToolFacts, UpstreamFacts, UseFacts, WantFacts,
};
use serde_json::Value;

use super::context::CommandContext;
use super::inspect::{settings, want_target};

/// The version of the report's format.
const FORMAT: u32 = 1;

/// The records of the audit and the approvals of the lock file, for all sources.
struct RecordedFacts {
    usage: Usage,
    uses: CapabilityUses,
    /// The uses of each loaded plugin's grants.
    of_grants: BTreeMap<Arc<str>, Uses>,
    dropped: DeletedRecords,
    lock: LockFile,
    folder: PathBuf,
}

impl RecordedFacts {
    /// Reads the records of the audit once, for all plugins.
    fn read(context: &CommandContext, plugins: &[Arc<LoadedPlugin>]) -> anyhow::Result<Self> {
        let folder = context.audit.folder();
        let mut uses = CapabilityUses::default();
        let granted = plugins.iter().map(|loaded| {
            let Plugin { name, terms, .. } = &loaded.plugin;
            (name.clone(), (Uses::default(), &terms.policy.grants))
        });
        let mut granted: BTreeMap<_, _> = granted.collect();
        let (usage, dropped) = portcullis_audit::read_with_usage(folder, |record| {
            uses.add(record);
            if let Some((plugin_uses, grants)) = granted.get_mut(&*record.plugin) {
                plugin_uses.add(record, grants);
            }
        })
        .with_context(|| format!("reading the audit in {}", folder.display()))?;
        let of_grants = granted.into_iter().map(|(name, (mut plugin_uses, _))| {
            plugin_uses.finish(&usage, &name);
            (name, plugin_uses)
        });
        let of_grants = of_grants.collect();
        let lock = LockFile::at(context.folders.lock.clone());
        Ok(Self { usage, uses, of_grants, dropped, lock, folder: folder.to_owned() })
    }
}

/// The facts about all plugins and upstream servers, the configuration and the audit.
pub async fn facts(context: &CommandContext) -> anyhow::Result<Facts> {
    let (catalog, summaries) = context.overview().await?;
    let known = RecordedFacts::read(context, &catalog.plugins.loaded)?;
    let loaded = catalog.plugins.loaded.iter().map(|plugin| {
        let of_catalog =
            catalog.remarks.iter().filter(|remark| *remark.source == *plugin.plugin.name);
        let mut facts = known.loaded(plugin);
        facts.remarks.extend(of_catalog.map(|remark| remark.text.clone()));
        facts
    });
    let refused = catalog.plugins.refused.iter().map(|plugin| known.refused(plugin));
    let upstreams = summaries.iter().map(|summary| known.upstream(summary)).collect();
    known.facts(context, loaded.chain(refused).collect(), upstreams)
}

/// The facts about components that are not installed, with the configuration and the audit of this host.
pub fn facts_of_uninstalled(
    context: &CommandContext,
    inspected: &[Result<Inspection, RejectedComponent>],
) -> anyhow::Result<Facts> {
    let known = RecordedFacts::read(context, &[])?;
    let plugins = inspected.iter().map(|one| match one {
        Ok(inspection) => known.uninstalled(inspection),
        Err(refused) => known.refused(refused),
    });
    known.facts(context, plugins.collect(), Vec::new())
}

impl RecordedFacts {
    fn facts(
        &self,
        context: &CommandContext,
        plugins: Vec<PluginFacts>,
        upstreams: Vec<UpstreamFacts>,
    ) -> anyhow::Result<Facts> {
        let folder = &self.folder;
        let verified = verify(folder);
        let verified =
            verified.with_context(|| format!("reading the audit in {}", folder.display()))?;
        let texts = |all: &[portcullis_audit::Fault]| all.iter().map(ToString::to_string).collect();
        Ok(Facts {
            format: FORMAT,
            host: env!("CARGO_PKG_VERSION").to_owned(),
            time: portcullis_audit::now(),
            configuration: context.source.as_ref().map(|file| file.display().to_string()),
            roots: context.roots.iter().map(|root| root.path().display().to_string()).collect(),
            plugins,
            upstreams,
            audit: AuditFacts {
                folder: folder.display().to_string(),
                since: self.uses.since.clone(),
                segments: verified.segments.len() as u64,
                lines: verified.segments.iter().map(|segment| segment.lines).sum(),
                digest: verified.index_end.as_ref().map(ToString::to_string),
                // Without segments and without an index, nothing was recorded yet.
                faults: match verified.segments.is_empty() && verified.index_end.is_none() {
                    true => Vec::new(),
                    false => texts(&verified.faults),
                },
                remarks: texts(&verified.remarks),
                deleted: DeletedFacts {
                    records: self.dropped.records,
                    from: self.dropped.from.clone(),
                    until: self.dropped.until.clone(),
                },
            },
            warnings: super::safety::warnings(context),
        })
    }

    fn loaded(&self, loaded: &LoadedPlugin) -> PluginFacts {
        let LoadedPlugin { plugin, imports, manifest, features, .. } = loaded;
        let compared = compare(loaded);
        let Policy { grants, wants, .. } = &*plugin.terms.policy;
        let uses = &self.of_grants[&plugin.name];
        let unused = unused_grants(&plugin.name, grants, Some(wants), uses);
        let capabilities = Capability::ALL.into_iter().filter_map(|capability| {
            let found = compared.iter().find(|one| one.capability == capability);
            let mut facts = self.capability(&plugin.name, capability, imports, &manifest.wants);
            if let Some(found) = found {
                facts.granted.clone_from(&found.granted);
                facts.targets.clone_from(&found.targets);
                facts.can_change = found.can_change;
            }
            for one in unused.iter().filter(|one| one.capability == capability) {
                match one.reason {
                    UnusedReason::Unwanted => facts.unwanted.push(one.value.clone()),
                    UnusedReason::NeverUsed { .. } => facts.unused.push(one.value.clone()),
                }
            }
            is_about_something(&facts).then_some(facts)
        });
        let limits = plugin.terms.limits.lines();
        PluginFacts {
            name: plugin.name.to_string(),
            version: manifest.version.clone(),
            origin: plugin.origin.to_string(),
            digest: Some(plugin.digest.to_string()),
            state: State::Loaded,
            refusal: None,
            is_foreign: !features.contains(&Feature::Manifest),
            approval: self.approval(ApprovalKey::Plugin(&plugin.name)),
            capabilities: capabilities.collect(),
            cannot: cannot_facts(imports, features, &manifest.wants),
            tools: loaded.tools.iter().map(tool).collect(),
            settings: plugin.terms.settings.keys().cloned().collect(),
            limits: limits.iter().map(|(name, value, ..)| format!("{name} {value}")).collect(),
            used: self.used(&plugin.name),
            remarks: loaded.remarks.clone(),
        }
    }

    fn refused(&self, refused: &RejectedComponent) -> PluginFacts {
        let RejectedComponent { name, origin, digest, reason, info } = refused;
        let manifest = info.as_ref().and_then(|info| info.manifest.as_ref());
        let wants = manifest.map(|manifest| &*manifest.wants).unwrap_or_default();
        let imports = info.as_ref().map(|info| &*info.imports).unwrap_or_default();
        let features = info.as_ref().map(|info| &*info.features).unwrap_or_default();
        let capabilities = Capability::ALL
            .into_iter()
            .map(|capability| self.capability(name, capability, imports, wants))
            .filter(is_about_something);
        PluginFacts {
            name: name.clone(),
            version: manifest.map_or_else(String::new, |manifest| manifest.version.clone()),
            origin: origin.to_string(),
            digest: digest.clone(),
            state: State::Refused,
            refusal: Some(reason.clone()),
            is_foreign: info.is_some() && !features.contains(&Feature::Manifest),
            approval: match origin {
                Origin::Bundled => None,
                Origin::File(_) => self.approval(ApprovalKey::Plugin(name)),
            },
            capabilities: capabilities.collect(),
            cannot: match info {
                Some(_) => cannot_facts(imports, features, wants),
                None => Vec::new(),
            },
            used: self.used(name),
            ..PluginFacts::default()
        }
    }

    fn uninstalled(&self, inspection: &Inspection) -> PluginFacts {
        let Inspection { name, origin, digest, info, tools, defect, remarks, .. } = inspection;
        let wants = info.manifest.as_ref().map(|manifest| &*manifest.wants).unwrap_or_default();
        // The empty name finds no records: those of an installed plugin with the same name are not about this
        // component.
        let capabilities = Capability::ALL.into_iter().filter_map(|capability| {
            let facts = self.capability("", capability, &info.imports, wants);
            is_about_something(&facts).then_some(facts)
        });
        let is_not_offered =
            |import: &&Import| import_use(import, &info.features) == ImportUse::Unknown;
        let refused = granted_imports(&info.imports).filter(is_not_offered).map(|import| {
            format!("it imports {}, which this host does not offer", import.interface)
        });
        PluginFacts {
            name: name.clone(),
            version: info.manifest.as_ref().map(|one| one.version.clone()).unwrap_or_default(),
            origin: origin.to_string(),
            digest: Some(digest.clone()),
            state: State::Uninstalled,
            refusal: defect.clone(),
            is_foreign: !info.features.contains(&Feature::Manifest),
            capabilities: capabilities.collect(),
            cannot: cannot_facts(&info.imports, &info.features, wants),
            tools: tools.iter().map(tool).collect(),
            settings: settings(wants).into_iter().map(str::to_owned).collect(),
            remarks: remarks.iter().cloned().chain(refused).collect(),
            ..PluginFacts::default()
        }
    }

    fn upstream(&self, summary: &Summary) -> UpstreamFacts {
        UpstreamFacts {
            name: summary.name.clone(),
            reach: summary.reach.clone(),
            confined: summary.confined,
            state: summary.state.to_owned(),
            tools: summary.tools.clone(),
            held: summary.held.clone(),
            approval: self.approval(ApprovalKey::Upstream(&summary.name)),
            used: self.used(&summary.name),
        }
    }

    /// The facts about one capability: its imports, its wants and its use. The caller adds the grant, if there is
    /// one.
    fn capability(
        &self,
        plugin: &str,
        capability: Capability,
        imports: &[Import],
        wants: &[Want],
    ) -> CapabilityFacts {
        let name = capability.as_str();
        let imports = imports.iter().filter(|import| is_of(import, capability)).map(|import| {
            let (interface, functions) = (import.interface.clone(), import.functions.clone());
            ImportFacts { interface, functions }
        });
        let wants = wants.iter().filter(|want| want.capability == name).map(|want| WantFacts {
            target: format!("{} {}", want_target(&want.target), want.access).trim_end().to_owned(),
            reason: want.reason.clone(),
            optional: want.optional,
        });
        let used = self.uses.uses.get(&(plugin.to_owned(), name.to_owned()));
        CapabilityFacts {
            name: name.to_owned(),
            imports: imports.collect(),
            wants: wants.collect(),
            used: used.map(capability_use).unwrap_or_default(),
            ..CapabilityFacts::default()
        }
    }

    /// The approval of a source. `None`: there is none, or the lock file cannot be read, which is reported when the
    /// plugins are loaded.
    fn approval(&self, key: ApprovalKey<'_>) -> Option<Approval> {
        let lock::Approval { digest, time, user, reason } = self.lock.approval(key).ok()??;
        Some(Approval { digest, time, user, reason })
    }

    fn used(&self, name: &str) -> UseFacts {
        let Some(PluginUse { calls, allowed, denied, last, denials }) = self.usage.0.get(name)
        else {
            return UseFacts::default();
        };
        let mut denials: Vec<_> = denials.iter().collect();
        denials.sort_by(|a, b| b.last.cmp(&a.last));
        let denial = |one: &&portcullis_audit::Denial| {
            let times =
                if one.times > 1 { format!(" ({} times)", one.times) } else { String::new() };
            format!("{} {}{times}", one.capability, one.subject)
        };
        UseFacts {
            calls: *calls,
            allowed: *allowed,
            denied: *denied,
            last: last.clone(),
            subjects: Vec::new(),
            denials: denials.iter().map(denial).collect(),
        }
    }
}

fn is_about_something(facts: &CapabilityFacts) -> bool {
    let is_used = facts.used.allowed + facts.used.denied > 0;
    !facts.imports.is_empty() || !facts.wants.is_empty() || facts.granted.is_some() || is_used
}

fn capability_use(used: &CapabilityUse) -> UseFacts {
    let CapabilityUse { allowed, denied, last, subjects, denials } = used;
    UseFacts {
        calls: 0,
        allowed: *allowed,
        denied: *denied,
        last: last.clone(),
        subjects: subjects.iter().cloned().collect(),
        denials: denials.iter().cloned().collect(),
    }
}

fn cannot_facts(imports: &[Import], features: &[Feature], wants: &[Want]) -> Vec<CapabilityLimit> {
    let mut all: Vec<_> = cannot(imports, features, wants)
        .iter()
        .map(|one| CapabilityLimit {
            what: format!("use `{}`", one.capability),
            why: one.why.to_owned(),
        })
        .collect();
    all.push(CapabilityLimit {
        what: super::inspect::NEVER.to_owned(),
        why: "no component can".to_owned(),
    });
    all
}

fn tool(tool: &PluginTool) -> ToolFacts {
    let one = &tool.definition;
    let schema = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    ToolFacts {
        name: one.name.clone(),
        description: one.description.clone().unwrap_or_default(),
        hints: Hints {
            read_only: one.hints.read_only,
            destructive: one.hints.destructive,
            idempotent: one.hints.idempotent,
            open_world: one.hints.open_world,
        },
        input_schema: schema(&one.input_schema),
        output_schema: one.output_schema.as_deref().map(schema),
    }
}
