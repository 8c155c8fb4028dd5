export { Mirror, type MirrorParts, type MirrorSettings, type RefusedDocument } from './mirror.ts'
