/** Reads each body into one buffer, within limits, and checks that JSON is I-JSON before it is parsed. */
import { IncomingMessage, type ServerResponse } from "node:http"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Context, Effect } from "effect"
import { HttpServerError, type HttpServerRequest } from "effect/http"
import { CollectedBytes } from "../../domain/bytes/collectedBytes.ts"
import { iJsonText, type JsonLimits, NotIJson } from "../../domain/json/iJson.ts"
import { BodyOvertaken, type HoldBody } from "./BodyMemory.ts"
import { clientIdentity } from "./ClientIdentity.ts"

export const isNotIJson = (error: unknown): error is NotIJson => error instanceof NotIJson

type Request = HttpServerRequest.HttpServerRequest

/** A body without a content type counts as JSON, as at all endpoints. */
export const isJson = ({ headers }: Request): boolean =>
  /^\s*application\/json\s*(;|$)/i.test(headers["content-type"] ?? "application/json")

/** Largest body of the current request, in bytes. */
export const BodyLimit = Context.Reference<number>("sealgate/http/shared/JsonBody/BodyLimit", {
  defaultValue: () => Infinity,
})

interface BodyLimits {
  readonly maxBodyBytes: number
  readonly jsonLimits: JsonLimits
  readonly hold: HoldBody
}

const unreadable = (request: Request, reason: "BodyTooLarge" | "Parse") =>
  new HttpServerError.HttpServerError({ reason: new HttpServerError.RequestParseError({ request, reason }) })

/** Sends `100 Continue` if the client expects it (RFC 9110 §10.1.1). HTTP/1.0 does not have it. */
const writeContinue = (request: Request, { headers, httpVersion }: IncomingMessage): void => {
  if (headers.expect === undefined || httpVersion === "1.0") return
  // An IncomingMessage is HTTP/1, so its response is a ServerResponse.
  const response = NodeHttpServerRequest.toServerResponse(request) as ServerResponse
  if (!response.headersSent) response.writeContinue()
}

/** Reads until a limit or until other bodies need the memory. The rest stays unread, as the connection will be closed. */
const readBytes = (request: Request, { hold, maxBodyBytes }: BodyLimits) =>
  Effect.callback<Uint8Array<ArrayBuffer>, HttpServerError.HttpServerError>((resume) => {
    const { source } = request
    if (!(source instanceof IncomingMessage))
      return resume(Effect.die(new TypeError("only requests of Node have a body")))
    // A body cannot exceed its Content-Length; without one, it is counted while it is read.
    const body = new CollectedBytes(Number(source.headers["content-length"] ?? maxBodyBytes))
    const held = hold(clientIdentity(request).whose, () => refuse(Effect.die(new BodyOvertaken())))
    const stop = () => {
      held.release()
      source.off("data", take).off("end", finish).off("error", fail).off("close", fail)
    }
    const refuse = (outcome: Effect.Effect<never, HttpServerError.HttpServerError>) => {
      stop()
      source.pause()
      resume(outcome)
    }
    const take = (piece: Uint8Array<ArrayBuffer>) => {
      if (body.length + piece.length > maxBodyBytes) return refuse(Effect.fail(unreadable(request, "BodyTooLarge")))
      body.add(piece)
      held.holds(body.held)
    }
    const finish = () => {
      stop()
      resume(Effect.succeed(body.take()))
    }
    const fail = () => refuse(Effect.fail(unreadable(request, "Parse")))
    if (source.readableEnded || source.destroyed) return fail()
    writeContinue(request, source)
    source.on("data", take).once("end", finish).once("error", fail).once("close", fail)
    return Effect.sync(stop)
  })

/** Dies with {@link NotIJson} if a body is not acceptable JSON. */
const textOf = (body: Uint8Array, limits: JsonLimits): Effect.Effect<string> => {
  const text = iJsonText(body, limits)
  return typeof text === "string" ? Effect.succeed(text) : Effect.die(text)
}

/** A buffer of exactly these bytes; a body of unknown length was collected in a larger one. */
const bufferOf = (bytes: Uint8Array<ArrayBuffer>): ArrayBuffer =>
  bytes.length === bytes.buffer.byteLength ? bytes.buffer : bytes.slice().buffer

/**
 * Limits the body of `request`; `text` dies with {@link NotIJson} if the body is no acceptable JSON. Replaces `arrayBuffer` and
 * `text` on the framework's object itself, because handlers get that one.
 */
export const limitBody = (request: Request, limits: BodyLimits): void => {
  const bytes = readBytes(request, limits)
  Object.defineProperties(request, {
    arrayBuffer: { value: Effect.map(bytes, bufferOf) },
    text: { value: Effect.flatMap(bytes, (body) => textOf(body, limits.jsonLimits)) },
  })
}
