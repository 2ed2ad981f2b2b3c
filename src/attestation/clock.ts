/** Difference of clocks that is accepted, in seconds: vendors sign fresh documents, which begin now. */
const LEEWAY = 60

/** Whether something that begins at `from` has begun; both in seconds since the epoch. Ends get no leeway. */
export const hasBegun = (from: number, now: number): boolean => from <= now + LEEWAY
