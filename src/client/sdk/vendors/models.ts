/** `GET /models`: which models there are, from a configured list or from the proxy's own. */
import { isObject } from "../../../domain/json/json.ts"

export interface Model {
  readonly id: string
  /** The provider that serves it. */
  readonly owned_by: string
}

/** The models in an answer of the proxy's `/v1/models`, or `undefined` when it is something else. */
export const modelsIn = (list: unknown): ReadonlyArray<Model> | undefined => {
  if (!isObject(list) || !Array.isArray(list["data"])) return undefined
  return list["data"].flatMap((model: unknown) =>
    isObject(model) && typeof model["id"] === "string" && typeof model["owned_by"] === "string"
      ? [{ id: model["id"], owned_by: model["owned_by"] }]
      : [],
  )
}
