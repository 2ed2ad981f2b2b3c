import type { JsonObject } from "../domain/json/json.ts"

/** Returns `object` without its member `name`. */
export const omit = (object: JsonObject, name: string): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([member]) => member !== name))
