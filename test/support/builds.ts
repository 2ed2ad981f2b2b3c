/** Before any test: the command and the pages are bundled from what is in src now. */
export const setup = async (): Promise<void> => {
  await import("../../scripts/buildWeb.ts")
  await import("../../scripts/buildCommand.ts")
}
