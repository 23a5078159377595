import type { Words } from '../en.ts'

// 设置页的用词。

export const settings: Words['settings'] = {
  title: '设置',
  you: '当前用户',
  user: '用户',
  role: '角色',
  roles: { admin: '管理员', user: '普通用户' },
  version: '版本',
  look: '外观',
  cli: '在终端里',
  cliHelp: '这里能做的事，在终端里都能做。',
  quarantined: '搁置的记录',
  quarantinedHelp: '数据库中无法读取的行，系统不会动它们。',
  apiDocument: 'API 文档（OpenAPI）',
  schema: '作业文件的 JSON Schema',
}
