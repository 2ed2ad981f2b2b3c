import { moment } from "../shared/format.ts"
import { hrefOf, type Route, sectionOf } from "./route.ts"
import type { Owner } from "./session/token.ts"

const SECTIONS = [
  { section: "overview", label: "Overview" },
  { section: "agents", label: "Agents" },
  { section: "jobs", label: "Jobs" },
  { section: "keys", label: "Keys" },
  { section: "routing", label: "Routing" },
] as const

const mayOpen = (owner: Owner, section: (typeof SECTIONS)[number]["section"]): boolean =>
  section === "routing" ? owner.admin : section === "keys" ? owner.manages : true

export const Navigation = ({
  onSignOut,
  owner,
  route,
}: {
  readonly route: Route
  readonly owner: Owner
  readonly onSignOut: () => void
}) => (
  <>
    <nav class="sections" aria-label="Console">
      {SECTIONS.filter(({ section }) => mayOpen(owner, section)).map(({ label, section }) => {
        // Within a section, `aria-current` is "true", because the link leads to another page.
        const here = route.view === section ? "page" : sectionOf(route) === section ? "true" : undefined
        return (
          <a key={section} href={hrefOf({ view: section })} aria-current={here}>
            {label}
          </a>
        )
      })}
    </nav>
    <div class="owner push">
      <p class="small">
        <span class="visually-hidden">Signed in as </span>
        <strong>{owner.subject}</strong>
        {owner.tenant !== undefined && <> of {owner.tenant}</>}
        {owner.roles.length > 0 && <> ({owner.roles.join(", ")})</>}
        <span class="muted until"> until {moment(owner.expires)}</span>
      </p>
      <button type="button" onClick={onSignOut}>
        Sign out
      </button>
    </div>
  </>
)
