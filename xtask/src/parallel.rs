//! Work on several things at a time, as many as there are processors, or more.

use anyhow::Result;
use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Calls `work` for each item, with the item's number, and returns the results, those of each
/// worker together. The first error ends the worker that meets it, and is returned when all workers
/// have ended.
pub(crate) fn for_each<I: Send, R: Send>(
    items: impl Iterator<Item = I> + Send,
    work: impl Fn(usize, I) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    with_workers(processors(), items, work)
}

/// Returns the number of processors of this machine.
pub(crate) fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// As [`for_each`], with this number of workers.
pub(crate) fn with_workers<I: Send, R: Send>(
    workers: usize,
    items: impl Iterator<Item = I> + Send,
    work: impl Fn(usize, I) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let items = Mutex::new(items.enumerate());
    let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    let some = || -> Result<Vec<R>> {
        let mut results = Vec::new();
        while let Some((number, item)) = next() {
            results.push(work(number, item)?);
        }
        Ok(results)
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(some)).collect();
        let mut all = Vec::new();
        for worker in workers {
            match worker.join() {
                Ok(its) => all.extend(its?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(all)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_is_worked_on_once_and_an_error_is_returned() {
        let mut all = for_each(0..100, |number, item| Ok((number, item))).unwrap();
        all.sort_unstable();
        assert_eq!(all, (0..100).map(|n| (n, n)).collect::<Vec<_>>());
        let failed = for_each(0..100, |_, item| {
            anyhow::ensure!(item != 50, "fifty");
            Ok(())
        });
        assert_eq!(failed.unwrap_err().to_string(), "fifty");
    }
}
