//! Looks for projects beneath roots, on threads that serve no client, and remembers for some seconds what was found.

use std::sync::Arc;
use std::time::{Duration, Instant};

use portcullis_core::projects::Projects;
use portcullis_roots::Roots;

/// For how long the projects beneath some roots are known.
const FRESH: Duration = Duration::from_secs(3);

/// Maximum number of sets of roots whose projects are known.
const MAX_LOOKS: usize = 16;

/// Projects that were found in the last seconds.
#[derive(Default)]
pub(super) struct Looks(tokio::sync::Mutex<Vec<Look>>);

/// Projects that were found beneath roots.
struct Look {
    roots: String,
    projects: Arc<Projects>,
    at: Instant,
}

impl Looks {
    /// The projects beneath roots. They are looked for on a thread that serves no client.
    pub(super) async fn projects(&self, roots: &Roots) -> Arc<Projects> {
        if roots.is_empty() {
            return Arc::default();
        }
        // Locked during the look: others who ask for the same roots wait for its result.
        let mut looks = self.0.lock().await;
        looks.retain(|look| look.at.elapsed() < FRESH);
        let key = roots.to_string();
        if let Some(look) = looks.iter().find(|look| look.roots == key) {
            return look.projects.clone();
        }
        let roots = roots.clone();
        let found = tokio::task::spawn_blocking(move || Projects::look(&roots)).await;
        let projects = Arc::new(found.unwrap_or_else(|error| {
            tracing::error!("looking for projects: {error}");
            Projects::default()
        }));
        if looks.len() >= MAX_LOOKS {
            looks.remove(0);
        }
        looks.push(Look { roots: key, projects: projects.clone(), at: Instant::now() });
        projects
    }

    /// Forgets what was found: a tool may have made a project.
    pub(super) async fn forget(&self) {
        self.0.lock().await.clear();
    }
}
