// How node programs save: node save.cjs WAY NAME FILE, where FILE has the content.
const fs = require('fs')
const { pathToFileURL } = require('url')
const [way, name, file] = process.argv.slice(2)
const data = fs.readFileSync(file)

const ways = {
  writeFile: () => fs.promises.writeFile(name, data),
  outputFile: () => require('fs-extra').outputFile(name, data),
  move: () => require('fs-extra').move(file, name, { overwrite: true }),
  'write-file-atomic': () => require('write-file-atomic')(name, data),
  steno: async () => {
    const { Writer } = await import(pathToFileURL(`${process.env.NODE_PATH}/steno/lib/index.js`))
    await new Writer(name).write(data)
  },
}

ways[way]().catch((error) => {
  console.error(error.message)
  process.exit(1)
})
