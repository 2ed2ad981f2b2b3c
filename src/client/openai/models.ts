/** `GET /models`: which models there are, from a configured list or from the proxy's own. */
import { isObject } from "../../domain/json.ts"

export interface Model {
  readonly id: string
  readonly object: "model"
  /** Not known here; the format wants a number. */
  readonly created: 0
  /** The provider that serves it. */
  readonly owned_by: string
}

export const modelOf = (id: string, owner: string): Model => ({ id, object: "model", created: 0, owned_by: owner })

/** The models in an answer of the proxy's `/v1/models`, or `undefined` when it is something else. */
export const modelsIn = (list: unknown): ReadonlyArray<Model> | undefined => {
  if (!isObject(list) || !Array.isArray(list["data"])) return undefined
  return list["data"].flatMap((model: unknown) =>
    isObject(model) && typeof model["id"] === "string" && typeof model["owned_by"] === "string"
      ? [modelOf(model["id"], model["owned_by"])]
      : [],
  )
}
