import { COMPILE_CACHE } from "../../scripts/paths.ts"

/** Bundles the command, the client and the pages from src before any test. */
export const setup = async (): Promise<void> => {
  // The tests start about 200 processes, which share compiled code.
  process.env["NODE_COMPILE_CACHE"] ??= COMPILE_CACHE
  await Promise.all([
    import("../../scripts/buildWeb.ts"),
    import("../../scripts/buildCommand.ts"),
    import("../../scripts/buildClient.ts"),
  ])
}
