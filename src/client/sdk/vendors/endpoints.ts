/** Finds the API and the vendor of an SDK's request. */
import { apiAt, type ApiName, apiOf, type ApiVendor } from "../../../domain/upstream/apis.ts"
import { anthropic } from "./anthropic.ts"
import { openai } from "./openai.ts"
import type { Vendor } from "./Vendor.ts"

const VENDORS: Readonly<Record<ApiVendor, Vendor>> = { anthropic, openai }

export const vendorOf = (api: ApiName): Vendor => VENDORS[apiOf(api).vendor]

/** Returns the vendor whose format fits a request, by path or headers, even if it is for no API. */
export const vendorAsked = (pathname: string, headers: { readonly has: (name: string) => boolean }): Vendor => {
  const api = apiAt(pathname)
  if (api !== undefined) return vendorOf(api)
  return headers.has("anthropic-version") ? anthropic : openai
}
