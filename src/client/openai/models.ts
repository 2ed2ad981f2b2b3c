/** `GET /models`: which models there are, from a configured list or from what the proxy says about itself. */
import { isObject } from "../decode.ts"

export interface Model {
  readonly id: string
  readonly object: "model"
  /** Not known here; the format wants a number. */
  readonly created: 0
  /** The provider that serves it. */
  readonly owned_by: string
}

export const modelOf = (id: string, owner: string): Model => ({ id, object: "model", created: 0, owned_by: owner })

/** The default model of every provider in the body of `/ready`, or `undefined` when it is something else. */
export const modelsFromReadiness = (readiness: unknown): ReadonlyArray<Model> | undefined => {
  if (!isObject(readiness) || !Array.isArray(readiness["providers"])) return undefined
  return readiness["providers"].flatMap((provider: unknown) =>
    isObject(provider) && typeof provider["model"] === "string" && typeof provider["provider"] === "string"
      ? [modelOf(provider["model"], provider["provider"])]
      : [],
  )
}
