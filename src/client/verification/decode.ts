/** Decoders for the few shapes a client reads: in browsers, a schema library would outweigh all the rest. */
import { type Bytes, decodeBase64Url } from "../../domain/bytes/bytes.ts"
import { NotIJson, parseIJson } from "../../domain/json/iJson.ts"
import { isObject, type JsonObject } from "../../domain/json/json.ts"
import type { Problem } from "../../domain/problems/problemTypes.ts"
import { Tampered } from "../errors.ts"

const wrong = (what: string, expected: string) => new Tampered(`${what} is not ${expected}.`)

const parse = (json: string | Uint8Array, what: string): unknown => {
  try {
    return parseIJson(json)
  } catch (cause) {
    throw new Tampered(`${what} is not I-JSON: ${cause instanceof NotIJson ? cause.message : String(cause)}`, { cause })
  }
}

/** Parses I-JSON, as text or as bytes, into an object. */
export const parseObject = (json: string | Uint8Array, what: string): JsonObject => {
  const value = parse(json, what)
  if (!isObject(value)) throw wrong(what, "a JSON object")
  return value
}

/** Parses the payload of a frame: an object, or `null` in place of an answer. */
export const answerFrom = (json: string | Uint8Array, what: string): JsonObject | null => {
  const value = parse(json, what)
  if (value !== null && !isObject(value)) throw wrong(what, "a JSON object")
  return value
}

export const stringOrNull = (object: JsonObject, member: string): string | null =>
  object[member] === null ? null : string(object, member)

export const string = (object: JsonObject, member: string): string => {
  const value = object[member]
  if (typeof value !== "string") throw wrong(member, "a string")
  return value
}

/** A non-negative safe integer. */
export const integer = (object: JsonObject, member: string): number => {
  const value = object[member]
  if (!Number.isSafeInteger(value) || Number(value) < 0) throw wrong(member, "a non-negative integer")
  return Number(value)
}

export const strings = (object: JsonObject, member: string): ReadonlyArray<string> => {
  const value = object[member]
  if (!Array.isArray(value) || !value.every((item) => typeof item === "string")) {
    throw wrong(member, "an array of strings")
  }
  return value
}

export const literal = <const Values extends ReadonlyArray<string>>(
  object: JsonObject,
  member: string,
  values: Values,
): Values[number] => {
  const found = values.find((value) => value === object[member])
  if (found === undefined) throw wrong(member, `one of ${values.join(", ")}`)
  return found
}

export const objectMember = (object: JsonObject, member: string): JsonObject => {
  const value = object[member]
  if (!isObject(value)) throw wrong(member, "an object")
  return value
}

/** Canonical base64url, of exactly `length` bytes if one is given. */
export const bytes = (object: JsonObject, member: string, length?: number): Bytes =>
  decodeBytes(string(object, member), member, length)

export const decodeBytes = (text: string, what: string, length?: number): Bytes => {
  const decoded = decodeBase64Url(text)
  if (decoded === undefined || (length !== undefined && decoded.length !== length)) {
    throw wrong(what, length === undefined ? "base64url" : `base64url of ${length} bytes`)
  }
  return decoded
}

/** A problem document as far as it can be read, because other servers on the path send problems too. */
export const problemFrom = (object: JsonObject, status: number): Problem => ({
  type: typeof object["type"] === "string" ? object["type"] : "about:blank",
  title: typeof object["title"] === "string" ? object["title"] : `The server answered ${status}.`,
  status: typeof object["status"] === "number" ? object["status"] : status,
  code: typeof object["code"] === "string" ? object["code"] : "unknown",
  retryable: object["retryable"] === true,
  ...(typeof object["retry_after_ms"] === "number" ? { retry_after_ms: object["retry_after_ms"] } : {}),
  ...(typeof object["detail"] === "string" ? { detail: object["detail"] } : {}),
  ...(typeof object["instance"] === "string" ? { instance: object["instance"] } : {}),
  ...(typeof object["trace_id"] === "string" ? { trace_id: object["trace_id"] } : {}),
  ...(isObject(object["provider_error"]) ? { provider_error: object["provider_error"] } : {}),
  ...(typeof object["provider_status"] === "number" ? { provider_status: object["provider_status"] } : {}),
  ...(Array.isArray(object["errors"])
    ? {
        errors: object["errors"]
          .filter(isObject)
          .flatMap(({ message, path }) =>
            typeof path === "string" && typeof message === "string" ? [{ path, message }] : [],
          ),
      }
    : {}),
})
