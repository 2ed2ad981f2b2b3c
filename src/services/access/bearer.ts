const BEARER = /^Bearer +([^\s,]+)$/i

/** The token in a Bearer `Authorization` header (RFC 6750 §2.1). */
export const bearerIn = (authorization: string): string | undefined => BEARER.exec(authorization)?.[1]
