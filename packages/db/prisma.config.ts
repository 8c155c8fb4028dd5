import { defineConfig } from 'prisma/config'

/** Where Prisma's own commands find the schema and the database; bigtap itself reads BIGTAP_DATABASE_URL in its services. */
export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  ...(process.env.BIGTAP_DATABASE_URL === undefined ? {} : { datasource: { url: process.env.BIGTAP_DATABASE_URL } }),
})
