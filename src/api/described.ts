import { OpenApi } from "effect/http-api"

/** Annotations of an endpoint: its title in the OpenAPI document, and what it does. */
export const described = (summary: string, description?: string) =>
  OpenApi.annotations({ summary, ...(description === undefined ? {} : { description }) })
