//! What was read is kept, so a prompt that begins as an earlier one did is read from where they differ.

/// A model that reads tokens and remembers them.
pub(super) trait Reads {
    /// What it remembers of the tokens of one text.
    type Memory: Default;

    /// Calls `work` on a thread of the model, if it has any, so that not every step goes from thread to thread.
    fn on_threads<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        work()
    }

    /// Reads `tokens`, at least one, after those in `memory`; writes the logits of what follows them where asked.
    fn read_on(&self, memory: &mut Self::Memory, tokens: &[u32], logits: Option<&mut Vec<f32>>);

    /// Returns a copy that remembers the first `tokens` only.
    fn first(&self, memory: &Self::Memory, tokens: usize) -> Self::Memory;

    /// Forgets all but the first `tokens`.
    fn cut(&self, memory: &mut Self::Memory, tokens: usize);
}

/// Memories of texts no job works on, the latest last.
pub(super) struct Memories<M> {
    kept: Vec<(Vec<u32>, M)>,
}

impl<M: Default> Memories<M> {
    pub(super) fn new() -> Self {
        Self { kept: Vec::new() }
    }

    /// Returns how many tokens all of them remember.
    pub(super) fn tokens(&self) -> usize {
        self.kept.iter().map(|(tokens, _)| tokens.len()).sum()
    }

    /// Returns a memory of as much of the beginning of `prompt` as any has, and how much that is: never all, so that the
    /// last token is read and tells what follows.
    ///
    /// A text that goes on takes its memory along. One that shares no more than a beginning gets a copy, so that two
    /// conversations with the same instructions do not take turns in losing their own.
    pub(super) fn take(&mut self, prompt: &[u32], model: &impl Reads<Memory = M>) -> (M, usize) {
        let most = prompt.len().saturating_sub(1);
        let shared = |(tokens, _): &(Vec<u32>, M)| {
            let same = tokens.iter().zip(prompt).take_while(|(a, b)| a == b);
            same.count().min(most)
        };
        let best = (0..self.kept.len()).max_by_key(|at| shared(&self.kept[*at]));
        let Some((at, shared)) = best.map(|at| (at, shared(&self.kept[at]))) else {
            return (M::default(), 0);
        };
        if shared == 0 {
            return (M::default(), 0);
        }
        if shared * 2 < self.kept[at].0.len() {
            return (model.first(&self.kept[at].1, shared), shared);
        }
        let (_, mut memory) = self.kept.remove(at);
        model.cut(&mut memory, shared);
        (memory, shared)
    }

    /// Keeps the memory of a text as the latest.
    pub(super) fn keep(&mut self, tokens: Vec<u32>, memory: M) {
        if !tokens.is_empty() {
            self.kept.push((tokens, memory));
        }
    }

    /// Drops the oldest until all together remember `most` tokens or fewer.
    pub(super) fn shrink(&mut self, most: usize) {
        let mut tokens = self.tokens();
        let over = self.kept.iter().take_while(|(kept, _)| {
            let over = tokens > most;
            tokens -= if over { kept.len() } else { 0 };
            over
        });
        let over = over.count();
        self.kept.drain(..over);
    }
}
