/** Shares of clients in a resource: when it is exhausted, the client that holds most gives way. */
interface Shares<Holder> {
  /** Records how many bytes a holder has now; 0 removes it. */
  readonly record: (client: string, holder: Holder, bytes: number) => void
  readonly total: () => number
  readonly holders: () => ReadonlyArray<Holder>
  /** The oldest holder of the client that holds most. */
  readonly first: () => Holder | undefined
}

interface Share<Holder> {
  bytes: number
  /** Holders, oldest first: maps keep insertion order. */
  readonly holders: Map<Holder, number>
}

export const makeShares = <Holder>(): Shares<Holder> => {
  const clients = new Map<string, Share<Holder>>()
  let total = 0
  return {
    record: (client, holder, bytes) => {
      const known = clients.get(client)
      // Most holders are removed before `first` is called, so nothing is allocated for them.
      if (known === undefined && bytes === 0) return
      const share = known ?? { bytes: 0, holders: new Map<Holder, number>() }
      const grown = bytes - (share.holders.get(holder) ?? 0)
      share.bytes += grown
      total += grown
      if (bytes > 0) share.holders.set(holder, bytes)
      else share.holders.delete(holder)
      if (share.holders.size > 0) clients.set(client, share)
      else clients.delete(client)
    },
    total: () => total,
    holders: () => [...clients.values()].flatMap(({ holders }) => [...holders.keys()]),
    first: () => {
      let most: Share<Holder> | undefined
      for (const share of clients.values()) if (most === undefined || share.bytes > most.bytes) most = share
      return most?.holders.keys().next().value
    },
  }
}
