/** Messages for the system's error codes. Library messages are never shown. */
import { isObject } from "../json/json.ts"

/** The code of the innermost cause, such as `ECONNREFUSED`. The message could contain addresses or secrets. */
export const systemCode = (error: unknown): string | undefined => {
  if (!isObject(error)) return undefined
  const below = systemCode(error["cause"])
  const { code } = error
  return below ?? (typeof code === "string" && /^[A-Z][A-Z0-9_]+$/.test(code) ? code : undefined)
}

/** Whether looking up a host or connecting to it failed, so that nothing was sent. Of several addresses, all failed. */
export const isFromConnecting = (error: unknown): boolean => {
  if (!isObject(error)) return false
  const { cause, errors, syscall } = error
  if (Array.isArray(errors) && errors.length > 0) return errors.every(isFromConnecting)
  return syscall === "connect" || syscall === "getaddrinfo" || isFromConnecting(cause)
}

const NO_TLS = "it does not speak TLS; use http:// there"
const CLOSED = "it closed the connection"
/** Nothing more is known. */
export const NO_ANSWER = "there was no answer"
const NO_NAME = "there is no host with that name; check the spelling"

const CONNECTIONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there",
  ECONNRESET: CLOSED,
  UND_ERR_SOCKET: CLOSED,
  EPIPE: CLOSED,
  ENOTFOUND: NO_NAME,
  EAI_AGAIN: "the name of the host could not be looked up; check the network",
  ETIMEDOUT: "there is no answer; check the network, and firewalls on the way",
  UND_ERR_CONNECT_TIMEOUT: "there is no answer; check the network, and firewalls on the way",
  UND_ERR_ABORTED: "it refused the tunnel; check user, password and allowed hosts",
  UND_ERR_HEADERS_TIMEOUT: "there was no answer in time",
  UND_ERR_BODY_TIMEOUT: "its answer stopped midway",
  EHOSTUNREACH: "there is no route to that host",
  ENETUNREACH: "there is no route to that network",
  EPROTO: NO_TLS,
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another name",
  CERT_HAS_EXPIRED: "its certificate has expired",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is self-signed; NODE_EXTRA_CA_CERTS can add it as trusted",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate is not signed by a trusted authority; NODE_EXTRA_CA_CERTS adds one",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate is not signed by a trusted authority; NODE_EXTRA_CA_CERTS adds one",
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: "it asks for a client certificate",
}

/** Whether `AbortSignal.timeout` ended the request. */
const isTimeout = (error: unknown): boolean =>
  error instanceof Error && (error.name === "TimeoutError" || isTimeout(error.cause))

/** Why a connection brought no answer, or only a part. If nothing came, `address` names the server. */
export const connectionReason = (error: unknown, address = ""): string => {
  if (isTimeout(error)) return "there was no answer in time"
  const code = systemCode(error)
  if (code === undefined) return NO_ANSWER
  if (CONNECTIONS[code] === CLOSED && address.startsWith("http:")) return `${CLOSED}; if it speaks TLS, use https://`
  return CONNECTIONS[code] ?? (code.startsWith("HPE_") ? "it does not speak HTTP" : `there was no answer (${code})`)
}

/** Unknown host names and TLS failures. Other connection failures may pass. */
const LASTING =
  /^(ENOTFOUND|EPROTO|CERT_\w+|ERR_(TLS|SSL)_\w+|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+)$/

/** Whether a connection fails until an address or a certificate is fixed. */
export const isLastingFault = (error: unknown): boolean => LASTING.test(systemCode(error) ?? "")

const FILES: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EACCES: "this user may not use it",
  EPERM: "this user may not use it",
  EISDIR: "it is a folder",
  ENOTDIR: "part of its path is not a folder",
  EROFS: "the file system is read-only",
  ENOTSUP: "that file system does not support this",
  ENOSPC: "the disk is full",
  EEXIST: "it exists already",
  ELOOP: "its links form a loop",
  ENAMETOOLONG: "its name is too long",
  EMFILE: "this process has too many files open",
}

/** Why a file cannot be read or written. */
export const fileReason = (error: unknown): string => {
  const code = systemCode(error)
  return code === undefined ? "the cause is unknown" : (FILES[code] ?? `the system says ${code}`)
}

/** By SQLite's primary result code, the lowest byte of extended codes. */
const SQLITE: Readonly<Record<number, string>> = {
  5: "another process has it locked",
  8: "it is read-only",
  10: "the disk cannot be read or written",
  11: "it is damaged",
  13: "the disk is full",
  14: "it cannot be opened",
  26: "it is not a SQLite database",
}

/** Meaning of a SQLite result code, if it concerns the file and not a statement. */
export const sqliteReason = (code: number): string | undefined => SQLITE[code & 0xff]
