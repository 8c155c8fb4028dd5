/** One figure of a bench. `value` and `baseline` were measured in turn in the same run; `ratio` = value / baseline. */
export interface BenchResult {
  name: string
  unit: string
  value: number
  baseline: number
  ratio: number
  /** Rounds; value and baseline are the medians of theirs. */
  runs: number
  /** Heap bytes per operation, where 0 is the goal. */
  bytesPerOp?: number
  /** What was counted in each second, where that is the point. */
  seconds?: number[]
}
