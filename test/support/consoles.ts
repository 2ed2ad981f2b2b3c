/** Before any test: the consoles are bundled from what is in src/web now. */
export const setup = async (): Promise<void> => {
  await import("../../scripts/buildWeb.ts")
}
