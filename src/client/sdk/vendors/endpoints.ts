/** Finds the API and the vendor of an SDK's request. */
import { API_NAMES, type ApiName, apiOf, type ApiVendor } from "../../../domain/upstream/apis.ts"
import { anthropic } from "./anthropic.ts"
import { openai } from "./openai.ts"
import type { Vendor } from "./Vendor.ts"

const VENDORS: Readonly<Record<ApiVendor, Vendor>> = { anthropic, openai }

export const vendorOf = (api: ApiName): Vendor => VENDORS[apiOf(api).vendor]

/** Returns the API of a `POST` to this path, with any base path before it. */
export const apiAt = (pathname: string): ApiName | undefined =>
  API_NAMES.find((api) => pathname.endsWith(apiOf(api).path))

/** Returns the vendor whose format fits a request, by path or headers, even if it is for no API. */
export const vendorAsked = (pathname: string, headers: { readonly has: (name: string) => boolean }): Vendor => {
  const api = apiAt(pathname)
  if (api !== undefined) return vendorOf(api)
  return headers.has("anthropic-version") ? anthropic : openai
}
