//! Looks for projects beneath roots, and keeps the found projects for some seconds. The search runs on threads that
//! serve no client.

use std::sync::Arc;
use std::time::{Duration, Instant};

use portcullis_core::projects::Projects;
use portcullis_roots::Roots;

/// Time for which found projects are used before they are looked for again.
const FRESH_TIME: Duration = Duration::from_secs(3);

/// Maximum number of sets of roots whose projects are kept.
const MAX_LOOKS: usize = 16;

/// The projects that were found in the last seconds, for each set of roots.
#[derive(Default)]
pub(super) struct ProjectSearches(tokio::sync::Mutex<Vec<CachedSearch>>);

/// The projects that were found beneath one set of roots.
struct CachedSearch {
    roots: String,
    projects: Arc<Projects>,
    at: Instant,
}

impl ProjectSearches {
    /// The projects beneath roots. The search runs on a thread that serves no client.
    pub(super) async fn projects(&self, roots: &Roots) -> Arc<Projects> {
        if roots.is_empty() {
            return Arc::default();
        }
        // The lock is held during the search, so that requests for the same roots wait for its result.
        let mut looks = self.0.lock().await;
        looks.retain(|look| look.at.elapsed() < FRESH_TIME);
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
        looks.push(CachedSearch { roots: key, projects: projects.clone(), at: Instant::now() });
        projects
    }

    /// Forgets all found projects, because a tool may have made one.
    pub(super) async fn forget(&self) {
        self.0.lock().await.clear();
    }
}
