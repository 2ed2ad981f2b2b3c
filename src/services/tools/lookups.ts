/** Lookups of names that tenants choose. */
import { lookup as systemLookup } from "node:dns"

type Done = (error: NodeJS.ErrnoException | null, addresses: ReadonlyArray<{ address: string; family: number }>) => void

export type Lookup = (name: string, done: Done) => void

/** Unlike `dns.Resolver`, it reads the hosts file and search domains, which names in private networks need. */
export const lookupOfSystem: Lookup = (name, done) => systemLookup(name, { all: true }, done)

interface Waiting {
  readonly tenant: string
  readonly name: string
  readonly since: number
  readonly done: Done
}

/**
 * Makes one lookup at a time. The system makes two at once for the whole process, and none of them can be ended: names
 * whose servers stay silent would otherwise keep calls of models from connecting. Tenants take turns, so that one
 * waits for at most one lookup of each other. A lookup answers all that wait for its name. One that waits for `timeout`
 * (milliseconds) is dropped: its connection has timed out.
 */
export const inTurns = (lookup: Lookup, timeout: number): ((tenant: string, name: string, done: Done) => void) => {
  let waiting: ReadonlyArray<Waiting> = []
  const begin = () => {
    const [first] = waiting
    if (first === undefined) return
    const { name, tenant } = first
    lookup(name, (error, addresses) => {
      const now = performance.now()
      const answered = waiting.filter((one) => one.name === name)
      const left = waiting.filter((one) => one.name !== name && now - one.since < timeout)
      // The tenant's others go to the end.
      waiting = [...left.filter((one) => one.tenant !== tenant), ...left.filter((one) => one.tenant === tenant)]
      begin()
      for (const { done } of answered) done(error, addresses)
    })
  }
  return (tenant, name, done) => {
    waiting = [...waiting, { tenant, name, since: performance.now(), done }]
    if (waiting.length === 1) begin()
  }
}
