import { pathOf } from "../../scripts/paths.ts"

/** Before any test: the command, the client and the pages are bundled from what is in src now. */
export const setup = async (): Promise<void> => {
  // Some 200 processes are started after this. What one has compiled, the next one need not.
  process.env["NODE_COMPILE_CACHE"] ??= pathOf("node_modules/.cache/node-compile")
  await Promise.all([
    import("../../scripts/buildWeb.ts"),
    import("../../scripts/buildCommand.ts"),
    import("../../scripts/buildClient.ts"),
  ])
}
