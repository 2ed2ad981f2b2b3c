import type { OpenApi } from "effect/http-api"
import type { JsonSchema } from "./jsonSchemas.ts"

/** The framework describes a number in a query or a header as a string; decoding checks its bounds. */
const isNumberText = ({ pattern, type }: JsonSchema): boolean => type === "string" && pattern?.includes("[Ee]") === true

/** Moves descriptions from schemas to their parameters, and types whole numbers as such. */
export const describeParameters = ({ parameters }: OpenApi.OpenAPISpecOperation): void => {
  for (const parameter of parameters) {
    const { allOf = [], description, ...schema }: JsonSchema = parameter.schema
    // `annotateKey` puts a description into `allOf`. Numbers need it, because encoding loses that of their schema.
    const said = description ?? allOf.find((part) => part.description !== undefined)?.description
    if (said !== undefined) parameter.description = said
    parameter.schema = isNumberText(schema) ? { type: "integer" } : schema
  }
}
