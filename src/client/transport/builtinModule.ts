/** One of Node's modules, where this is Node. A static import of it would break bundlers. */
export const builtinModule = (name: `node:${string}`): unknown => {
  const process: unknown = Reflect.get(globalThis, "process")
  const builtin: unknown = Reflect.get(Object(process), "getBuiltinModule")
  return typeof builtin === "function" ? Reflect.apply(builtin, process, [name]) : undefined
}
