/** Returns one of Node's modules, or `undefined` outside of Node. A static import would break bundlers. */
export const builtinModule = (name: `node:${string}`): unknown => {
  const process: unknown = Reflect.get(globalThis, "process")
  const builtin: unknown = Reflect.get(Object(process), "getBuiltinModule")
  return typeof builtin === "function" ? Reflect.apply(builtin, process, [name]) : undefined
}
