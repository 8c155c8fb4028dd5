export { type CatalogView, DOCUMENTS_MAX, Documents, type RefusedDocument } from './documents.ts'
export { type CatalogFeed, createMirror, Mirror, type MirrorParts, type MirrorSettings } from './mirror.ts'
