/**
 * Routes requests to the process that holds their session, if several proxies share an address. A session id may begin with
 * the tag of its process. The client repeats the tag in a header, because load balancers read headers, not bodies. The tag
 * is a hint and authenticates nothing.
 */
import { type Bytes, decodeBase64Url } from "../bytes/bytes.ts"

/** The request header that carries the tag. */
export const ROUTE_HEADER = "sealgate-route"

/** Four characters of base64url are exactly three bytes of the session id. */
const ROUTING_TAG_LENGTH = 4

/** Lower case only, because load balancers such as nginx ignore case. */
export const ROUTING_TAG = /^[a-z0-9]{4}$/

/** The first bytes of every session id that begins with `tag`. */
export const routingTagBytes = (tag: string): Bytes => {
  const bytes = ROUTING_TAG.test(tag) ? decodeBase64Url(tag) : undefined
  if (bytes === undefined) throw new TypeError("A routing tag is four characters of a-z and 0-9.")
  return bytes
}

/** The value of the header for a session, whether or not its proxy has a tag. */
export const routeOf = (sessionId: string): string => sessionId.slice(0, ROUTING_TAG_LENGTH)
