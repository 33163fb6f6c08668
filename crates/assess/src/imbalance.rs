//! How evenly the threads of a trial worked.

use model::sample::Span;
use std::time::Duration;

/// The accuracy of the clocks of the loop and the spans. A thread that ends after this share of the
/// time limit, counted from the first thread's start, was stopped by the limit.
const TIME_OVER: f64 = 0.99;

/// The mean idle share of threads in per cent: `100·Σ(T−tᵢ)/(n·T)`. None for one thread.
///
/// If a thread finished its share before the `limit`, T is the longest span and tᵢ are the spans:
/// finished threads wait for the others. If the limit stopped all threads, none waits. Then T is
/// the most bytes that a thread moved and tᵢ are the threads' bytes: with equal shares of work, the
/// faster threads would have waited just as long.
pub(crate) fn imbalance_percent(spans: &[Span], limit: Duration) -> Option<f64> {
    if spans.len() < 2 {
        return None;
    }
    let first_ns = spans.iter().map(|span| span.start_ns).min()?;
    let limit_ns = limit.as_nanos() as f64 * TIME_OVER;
    let is_stopped = |span: &Span| span.end_ns.saturating_sub(first_ns) as f64 >= limit_ns;
    let parts: Vec<f64> = if spans.iter().all(is_stopped) {
        spans.iter().map(|span| span.bytes as f64).collect()
    } else {
        spans.iter().map(|span| span.end_ns.saturating_sub(span.start_ns) as f64).collect()
    };
    let most = parts.iter().copied().fold(0.0, f64::max);
    let mean = parts.iter().sum::<f64>() / parts.len() as f64;
    (most > 0.0).then(|| 100.0 * (most - mean) / most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imbalance(limit_ms: u64, spans: &[(u64, u64)]) -> Option<f64> {
        let span = |(thread, (ms, bytes)): (u32, &(u64, u64))| Span {
            thread,
            start_ns: 7,
            end_ns: 7 + ms * 1_000_000,
            bytes: *bytes,
            ops: 1,
            ..Span::default()
        };
        let spans: Vec<Span> = (0..).zip(spans).map(span).collect();
        imbalance_percent(&spans, Duration::from_millis(limit_ms))
    }

    #[test]
    fn threads_that_were_done_early_were_idle() {
        assert_eq!(imbalance(1_000, &[(100, 50), (50, 50)]), Some(25.0));
        assert_eq!(imbalance(1_000, &[(80, 5), (80, 500)]), Some(0.0));
        assert_eq!(imbalance(1_000, &[(100, 9), (100, 9), (100, 9), (20, 9)]), Some(20.0));
        // The time limit stopped one thread, and the other finished its share.
        assert_eq!(imbalance(100, &[(101, 50), (50, 90)]).map(f64::round), Some(25.0));
    }

    #[test]
    fn threads_that_were_stopped_together_differ_in_bytes() {
        assert_eq!(imbalance(100, &[(101, 100), (100, 50)]), Some(25.0));
        assert_eq!(imbalance(100, &[(100, 70), (104, 70)]), Some(0.0));
    }

    #[test]
    fn one_thread_or_no_work_has_no_imbalance() {
        assert_eq!(imbalance(100, &[(100, 70)]), None);
        assert_eq!(imbalance(100, &[]), None);
        assert_eq!(imbalance(100, &[(0, 0), (0, 0)]), None);
    }
}
