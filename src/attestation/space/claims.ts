/** Claims of Confidential Space that a policy may judge (Google Cloud, "Attestation token claims"). */
import { isObject, type JsonObject } from "../../domain/json/json.ts"

/** Year, month and counter of an image, such as `250301`. As numbers, later ones are greater. */
export const SWVERSION = /^\d{6,8}$/

/** The image's version; `undefined` if the token does not name exactly one. */
export const swversionIn = (claims: JsonObject): string | undefined => {
  const [version, more] = [claims["swversion"]].flat()
  return typeof version === "string" && SWVERSION.test(version) && more === undefined ? version : undefined
}

/** The TCB status, in an object or a list of one; `undefined` if the token does not name exactly one. */
export const tcbStatusIn = (claims: JsonObject): string | undefined => {
  const [tdx, more] = [claims["tdx"]].flat()
  const status = isObject(tdx) && more === undefined ? tdx["gcp_attester_tcb_status"] : undefined
  return typeof status === "string" ? status : undefined
}
