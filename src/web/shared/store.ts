/** The part of `localStorage` and `sessionStorage` that is used. */
export type Store = Pick<Storage, "getItem" | "setItem" | "removeItem">

/** Falls back to memory once the store fails: browsers throw if storage is denied or full. */
export const storeOf = (open: () => Store): Store => {
  const memory = new Map<string, string>()
  const inMemory: Store = {
    getItem: (name) => memory.get(name) ?? null,
    setItem: (name, value) => void memory.set(name, value),
    removeItem: (name) => void memory.delete(name),
  }
  let store: Store | undefined
  const attempt = <A>(use: (store: Store) => A): A => {
    try {
      store ??= open()
      return use(store)
    } catch {
      store = inMemory
      return use(store)
    }
  }
  return {
    getItem: (name) => attempt((store) => store.getItem(name)),
    setItem: (name, value) => attempt((store) => store.setItem(name, value)),
    removeItem: (name) => attempt((store) => store.removeItem(name)),
  }
}
