export type { CatalogFeed } from './catalog-reader.ts'
export { TRIAL_MS } from './command-intake.ts'
export { type CatalogView, DOCUMENTS_MAX, Documents, type RefusedDocument } from './documents.ts'
export { type ChangeListener, createMirror, Mirror, type MirrorParts, type MirrorSettings } from './mirror.ts'
