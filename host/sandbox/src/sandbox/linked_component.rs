//! Finds the contract's interfaces that a component exports, and calls them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use wasmtime::component::{Component, Instance, InstancePre, Resource};
use wasmtime::{Result, Store, bail};

use super::foreign;
use super::state::{InstanceState, RequestHandle};
use super::work::{GuestAnswer, Work};
use crate::bindings::types::Error as ProtocolError;
use crate::bindings::{Manifest, completions, jobs, manifest, prompts, resources, tools, views};
use portcullis_engine::EngineKind;

/// One of the contract's interfaces that a plugin can export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Feature {
    /// The manifest. Only foreign components lack it.
    Manifest,
    /// Tools.
    Tools,
    /// Resources.
    Resources,
    /// Prompts.
    Prompts,
    /// Completions.
    Completions,
    /// Views for tools.
    Views,
    /// Deferred jobs.
    Jobs,
}

impl Feature {
    const ALL: [Self; 7] = [
        Self::Manifest,
        Self::Tools,
        Self::Resources,
        Self::Prompts,
        Self::Completions,
        Self::Views,
        Self::Jobs,
    ];

    /// The interface of the contract, as components export it.
    pub fn interface(self) -> &'static str {
        match self {
            Self::Manifest => "portcullis:plugin/manifest@0.1.0",
            Self::Tools => "portcullis:plugin/tools@0.1.0",
            Self::Resources => "portcullis:plugin/resources@0.1.0",
            Self::Prompts => "portcullis:plugin/prompts@0.1.0",
            Self::Completions => "portcullis:plugin/completions@0.1.0",
            Self::Views => "portcullis:plugin/views@0.1.0",
            Self::Jobs => "portcullis:plugin/jobs@0.1.0",
        }
    }

    /// The contract's interfaces that a component exports.
    pub fn of(component: &Component) -> Vec<Self> {
        let is_exported =
            |feature: &Self| component.get_export_index(None, feature.interface()).is_some();
        Self::ALL.into_iter().filter(is_exported).collect()
    }
}

/// A linked component with the indexes of its exports.
#[derive(Clone)]
pub struct LinkedComponent {
    pre: InstancePre<InstanceState>,
    /// Whether the component asks for its directories when an instance is made.
    needs_directories_early: Arc<AtomicBool>,
    manifest: Option<manifest::GuestIndices>,
    tools: Option<tools::GuestIndices>,
    resources: Option<resources::GuestIndices>,
    prompts: Option<prompts::GuestIndices>,
    completions: Option<completions::GuestIndices>,
    views: Option<views::GuestIndices>,
    jobs: Option<jobs::GuestIndices>,
}

impl LinkedComponent {
    /// Finds the exports.
    ///
    /// # Errors
    ///
    /// An export does not have the type that the contract defines.
    pub fn new(pre: InstancePre<InstanceState>) -> Result<Self> {
        let features = Feature::of(pre.component());
        let has = |feature| features.contains(&feature);
        Ok(Self {
            manifest: has(Feature::Manifest)
                .then(|| manifest::GuestIndices::new(&pre))
                .transpose()?,
            tools: has(Feature::Tools).then(|| tools::GuestIndices::new(&pre)).transpose()?,
            resources: has(Feature::Resources)
                .then(|| resources::GuestIndices::new(&pre))
                .transpose()?,
            prompts: has(Feature::Prompts).then(|| prompts::GuestIndices::new(&pre)).transpose()?,
            completions: has(Feature::Completions)
                .then(|| completions::GuestIndices::new(&pre))
                .transpose()?,
            views: has(Feature::Views).then(|| views::GuestIndices::new(&pre)).transpose()?,
            jobs: has(Feature::Jobs).then(|| jobs::GuestIndices::new(&pre)).transpose()?,
            needs_directories_early: Arc::default(),
            pre,
        })
    }

    /// Whether the component asks for its directories when an instance is made, as far as instances were made. The
    /// runtime of Go does so, and does not ask again.
    pub fn needs_directories_early(&self) -> bool {
        self.needs_directories_early.load(Ordering::Relaxed)
    }

    /// The kind of the engine that runs the component.
    pub fn engine_kind(&self) -> EngineKind {
        EngineKind::of(self.pre.component())
    }

    /// Makes an instance.
    ///
    /// # Errors
    ///
    /// The component's start function fails, or a limit is reached.
    pub async fn instantiate(&self, store: &mut Store<InstanceState>) -> Result<Instance> {
        let instance = self.pre.instantiate_async(&mut *store).await?;
        if store.data().files.are_directories_known() {
            self.needs_directories_early.store(true, Ordering::Relaxed);
        }
        Ok(instance)
    }

    /// Asks an instance for its manifest.
    ///
    /// # Errors
    ///
    /// The guest fails, or exports no manifest.
    pub async fn describe(
        &self,
        store: &mut Store<InstanceState>,
        instance: &Instance,
    ) -> Result<Manifest> {
        let Some(manifest) = &self.manifest else { bail!("it exports no manifest") };
        manifest.load(&mut *store, instance)?.call_describe(store).await
    }

    /// Lets an instance do the work.
    ///
    /// # Errors
    ///
    /// The outer error: the guest fails, or does not export the interface. The inner error: the guest answers with an
    /// error, or the arguments do not fit the types of a function of a foreign component.
    pub async fn work(
        &self,
        store: &mut Store<InstanceState>,
        instance: &Instance,
        work: Work,
    ) -> Result<Result<GuestAnswer, ProtocolError>> {
        if self.manifest.is_none() {
            return foreign::work(store, instance, self.pre.component(), work).await;
        }
        let request: Resource<RequestHandle> = store.data_mut().table.push(RequestHandle)?;
        Ok(match work {
            Work::Tool(call) => {
                let Some(tools) = &self.tools else { bail!("it exports no tools") };
                let tools = tools.load(&mut *store, instance)?;
                let answer = tools.call_call(store, request, call.name(), call.arguments()).await?;
                answer.map(GuestAnswer::from)
            }
            Work::Resources(cursor) => {
                let resources = self.resources(store, instance)?;
                let cursor = cursor.as_ref();
                let page = resources.call_list_resources(store, request, cursor).await?;
                page.map(GuestAnswer::Resources)
            }
            Work::Resource(uri) => {
                let resources = self.resources(store, instance)?;
                resources.call_read(store, request, &uri).await?.map(GuestAnswer::from)
            }
            Work::Version(uri) => {
                let resources = self.resources(store, instance)?;
                resources.call_version(store, request, &uri).await?.map(GuestAnswer::Version)
            }
            Work::Prompt { name, arguments } => {
                let Some(prompts) = &self.prompts else { bail!("it exports no prompts") };
                let prompts = prompts.load(&mut *store, instance)?;
                prompts.call_get(store, request, &name, &arguments).await?.map(GuestAnswer::from)
            }
            Work::Completion { subject, argument, value, context } => {
                let Some(completions) = &self.completions else {
                    bail!("it exports no completions")
                };
                let completions = completions.load(&mut *store, instance)?;
                completions
                    .call_complete(store, request, &subject, &argument, &value, &context)
                    .await?
                    .map(GuestAnswer::Completion)
            }
            Work::Views => {
                let Some(views) = &self.views else { bail!("it exports no views") };
                let views = views.load(&mut *store, instance)?;
                views.call_assign(store, request).await?.map(GuestAnswer::Views)
            }
            Work::Job(job) => {
                let Some(jobs) = &self.jobs else { bail!("it exports no jobs") };
                let jobs = jobs.load(&mut *store, instance)?;
                jobs.call_run(store, request, &job).await?.map(|()| GuestAnswer::Job)
            }
        })
    }

    fn resources(
        &self,
        store: &mut Store<InstanceState>,
        instance: &Instance,
    ) -> Result<resources::Guest> {
        let Some(resources) = &self.resources else { bail!("it exports no resources") };
        resources.load(store, instance)
    }
}
