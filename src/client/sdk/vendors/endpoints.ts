/** What an SDK's request is for, by its path, and in whose form it is answered. */
import { API_NAMES, type ApiName, apiOf, type ApiVendor } from "../../../domain/upstream/apis.ts"
import { anthropic } from "./anthropic.ts"
import { openai } from "./openai.ts"
import type { Vendor } from "./Vendor.ts"

const VENDORS: Readonly<Record<ApiVendor, Vendor>> = { anthropic, openai }

export const vendorOf = (api: ApiName): Vendor => VENDORS[apiOf(api).vendor]

/** The API that `POST` to a path asks for. What stands before its own path is the base URL's. */
export const apiAt = (pathname: string): ApiName | undefined =>
  API_NAMES.find((api) => pathname.endsWith(apiOf(api).path))

/** In whose form a request is answered that may be for no API at all: its path or its headers tell. */
export const vendorAsked = (pathname: string, headers: { readonly has: (name: string) => boolean }): Vendor => {
  const api = apiAt(pathname)
  if (api !== undefined) return vendorOf(api)
  return headers.has("anthropic-version") ? anthropic : openai
}
