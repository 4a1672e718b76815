//! A runtime that ends without waiting for anybody, as a process does that is killed.

use tokio::runtime::Runtime;

#[derive(Debug)]
pub(crate) struct OwnRuntime(Option<Runtime>);

impl OwnRuntime {
    pub(crate) fn new() -> Self {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        Self(Some(builder.worker_threads(2).enable_all().build().expect("a runtime can be made")))
    }

    /// Runs something on it to its end.
    pub(crate) async fn run<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> T {
        let work = self.0.as_ref().expect("it ends only with its owner").spawn(work);
        work.await.expect("the work does not panic")
    }
}

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
