/** Measurements of models that answer questions and judge answers. */

/**
 * `accuracy`: the share of right answers. `difficulty`: the share of the variance of a latent normal variable that all
 * models have in common, because a question is hard or easy.
 */
export interface ErrorModel {
  readonly accuracy: number
  readonly difficulty: number
}

/** Of `total` judgements with a stated confidence up to `upTo`, `right` were right. */
export interface Bin {
  readonly upTo: number
  readonly right: number
  readonly total: number
}

export interface Measurements {
  /** By model name. */
  readonly models: Readonly<Record<string, ErrorModel>>
  /** How often two models, by `pairName`, give the same wrong answer when both are wrong. */
  readonly sameWrong: Readonly<Record<string, number>>
  /** The median of the measurements, for models that were not measured. */
  readonly others: ErrorModel & { readonly sameWrong: number }
  /** By the judge's name. */
  readonly judges: Readonly<Record<string, ReadonlyArray<Bin>>>
}
