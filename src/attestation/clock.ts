/** Accepted clock difference, in seconds. Vendors sign documents on request, so they begin to be valid now. */
const LEEWAY = 60

/** Whether something that begins at `from` has begun; both in seconds since the epoch. Ends get no leeway. */
export const hasBegun = (from: number, now: number): boolean => from <= now + LEEWAY
