import type { JsonObject } from "../domain/json/json.ts"

export const omit = (object: JsonObject, name: string): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([member]) => member !== name))
