/** Models for `GET /models`. */
import { isObject } from "../../../domain/json/json.ts"

export interface Model {
  readonly id: string
  /** The provider that serves it. */
  readonly owned_by: string
}

/** Returns the models in an answer of `/v1/models`, or `undefined` if it is not one. */
export const modelsIn = (list: unknown): ReadonlyArray<Model> | undefined => {
  if (!isObject(list) || !Array.isArray(list["data"])) return undefined
  return list["data"].flatMap((model: unknown) =>
    isObject(model) && typeof model["id"] === "string" && typeof model["owned_by"] === "string"
      ? [{ id: model["id"], owned_by: model["owned_by"] }]
      : [],
  )
}
