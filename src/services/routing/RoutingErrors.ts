/** Failures of the router. */
import { Schema } from "effect"
import type { BudgetExhausted } from "../../domain/access/budgets.ts"
import { StepCall } from "../../domain/jobs/job.ts"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import { UpstreamError } from "../../domain/upstream/upstream.ts"

const NO_TARGET = {
  model: "There is no such model for this key; GET /v1/models lists the models.",
  api: "No target of this name serves this API; name another, or correct `apis` of the routing's targets.",
  configured: "None of the configured targets has a provider here; correct the routing configuration.",
  key: "The provider needs your tenant's own key, but none can be read; a manager can set one: PUT /api/v1/secrets/{name}.",
  policy: "The agent's model policy, the key's models and the role's filter leave no target; widen one of them.",
  context: "The request is longer than the context of every target that may be used.",
  tokens: "The job has fewer tokens left than another call takes.",
  cost: "The job has less of its budget left than another call costs.",
  price: "A cost limit needs targets whose price is known; configure prices or lift the limit.",
} as const

/** No target may serve the request, so none was called. */
export class NoTarget extends Schema.TaggedError<NoTarget>()("NoTarget", {
  reason: Schema.Literals(["model", "api", "configured", "key", "policy", "context", "price", "tokens", "cost"]),
}) {
  get code(): "context-too-long" | "unknown-model" | "tenant-key-missing" | "no-target" {
    if (this.reason === "key") return "tenant-key-missing"
    if (this.reason === "model") return "unknown-model"
    return this.reason === "context" ? "context-too-long" : "no-target"
  }
  get status(): 404 | 422 {
    return this.reason === "model" ? 404 : 422
  }
  readonly retryable = false
  override get message(): string {
    return NO_TARGET[this.reason]
  }
}

/** Every called target failed. */
export class CallFailed extends Schema.TaggedError<CallFailed>()("CallFailed", {
  error: UpstreamError,
  /** The failed calls and their cost; absent if none was made. */
  call: Schema.optionalKey(StepCall),
}) {
  override get message(): string {
    return this.error.message
  }
}

export type RouterError = NoTarget | BudgetExhausted | CallFailed | StorageUnavailable
