import { Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import { subscriberOf } from "../../domain/ipAddress.ts"

/**
 * Where a request comes from, as the address that it stands for. Forwarded addresses were put in place before, if they came from a trusted proxy.
 */
export const clientAddress = (request: HttpServerRequest.HttpServerRequest): string =>
  Option.match(request.remoteAddress, { onNone: () => "unknown", onSome: subscriberOf })
