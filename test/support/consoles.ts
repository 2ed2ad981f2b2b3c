/** Before any test: the pages are bundled from what is in src/web now. */
export const setup = async (): Promise<void> => {
  await import("../../scripts/buildWeb.ts")
}
