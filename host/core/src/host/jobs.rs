//! Jobs: work that plugins defer. No client waits for a job.

use std::sync::Arc;

use portcullis_roots::Roots;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Host;
use crate::call::client::NoClient;
use crate::call::{self, Call, Work};
use crate::plugins::LoadedPlugin;
use crate::sandbox::{CallContext, DeferredJob, Feature};
use crate::source::Source;

/// Maximum number of jobs that run at the same time, of all plugins together.
const MAX_RUNNING: usize = 2;

impl Host {
    /// Gives a call of a plugin access to the state that all calls share. A job that the call starts gets the roots of
    /// the call.
    pub fn attach_shared_state(
        &self,
        context: &mut CallContext,
        loaded: &LoadedPlugin,
        roots: &Roots,
    ) {
        context.shared = Some(self.shared_state.clone());
        context.job_roots = loaded.features.contains(&Feature::Jobs).then(|| roots.clone());
    }
}

/// Runs the jobs of a host's plugins until the host shuts down.
pub fn run(host: &Arc<Host>) {
    let (shared, shutdown) = (host.shared_state.clone(), host.shutdown.clone());
    let host = Arc::downgrade(host);
    let places = Arc::new(Semaphore::new(MAX_RUNNING));
    tokio::spawn(async move {
        loop {
            let place =
                places.clone().acquire_owned().await.expect("the semaphore is never closed");
            let job = tokio::select! {
                job = shared.next_job() => job,
                () = shutdown.cancelled() => return,
            };
            let Some(host) = host.upgrade() else { return };
            tokio::spawn(run_one(host, job, place));
        }
    });
}

async fn run_one(host: Arc<Host>, deferred: DeferredJob, _place: OwnedSemaphorePermit) {
    let DeferredJob { plugin, request, job, roots } = deferred;
    let (catalog, _) = host.tools().await;
    let mut loaded = catalog.plugins.loaded.iter();
    let Some(loaded) = loaded.find(|loaded| loaded.plugin.name == plugin) else { return };
    let mut context = CallContext { background: true, ..CallContext::default() };
    host.attach_shared_state(&mut context, loaded, &roots);
    let call = Call {
        request,
        origin: call::Origin::default(),
        work: Work::Job(job),
        roots,
        context,
        task: true,
        decisions: Vec::new(),
        resumed: None,
        client: &NoClient,
        inner: None,
    };
    let ran = call::call(Source::Plugin(loaded), call);
    let Some(ended) = host.shutdown.run_until_cancelled(ran).await else { return };
    if let Err(failure) = ended {
        tracing::warn!("a job of `{plugin}` failed: {failure}");
    }
}
