/** What can be measured about models that answer questions and judge answers. */

/**
 * `accuracy`: how often it is right. `difficulty`: the part of its luck (of the variance of a latent normal variable) that
 * it shares with all models, because a question is hard or easy.
 */
export interface ErrorModel {
  readonly accuracy: number
  readonly difficulty: number
}

/** Of `total` judgements that were stated with a confidence up to `upTo`, `right` were right. */
export interface Bin {
  readonly upTo: number
  readonly right: number
  readonly total: number
}

export interface Measurements {
  /** By the name of the model. */
  readonly models: Readonly<Record<string, ErrorModel>>
  /** How often two models, by `pairName`, give the same wrong answer where both are wrong. */
  readonly sameWrong: Readonly<Record<string, number>>
  /** Stands for what was not measured: the median of what was. */
  readonly others: ErrorModel & { readonly sameWrong: number }
  /** By the name of the judge. */
  readonly judges: Readonly<Record<string, ReadonlyArray<Bin>>>
}
