/** Lookups of names that tenants choose. */
import { lookup as systemLookup } from "node:dns"

export type Lookup = (
  name: string,
  done: (error: NodeJS.ErrnoException | null, addresses: ReadonlyArray<{ address: string; family: number }>) => void,
) => void

/** Unlike `dns.Resolver`, it reads the hosts file and search domains, which names in private networks need. */
export const lookupOfSystem: Lookup = (name, done) => systemLookup(name, { all: true }, done)

/**
 * Makes one lookup at a time, in order. The system makes two at once for the whole process, and none of them can be ended:
 * names whose servers stay silent would otherwise keep calls of models from connecting. A lookup that waits for `timeout`
 * (milliseconds) is dropped: its connection has timed out.
 */
export const oneAtATime = (lookup: Lookup, timeout: number): Lookup => {
  const waiting: Array<{ readonly since: number; readonly begin: () => void }> = []
  let isUnderWay = false
  const next = () => {
    isUnderWay = false
    const now = performance.now()
    let first = waiting.shift()
    while (first !== undefined && now - first.since >= timeout) first = waiting.shift()
    first?.begin()
  }
  return (name, done) => {
    const begin = () => {
      isUnderWay = true
      lookup(name, (error, addresses) => {
        next()
        done(error, addresses)
      })
    }
    if (isUnderWay) waiting.push({ since: performance.now(), begin })
    else begin()
  }
}
